"""Learning the numbers of a belief policy from recorded runs, and the weights of blame from labelled traces."""
