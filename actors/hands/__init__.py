"""The hands: what the actors of a planning run do with the work that the machine asks for."""
