"""The web pages and the HTTP API of `replan serve`."""
