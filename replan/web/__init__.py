"""The web page and the HTTP API of `replan serve`: what the runs of a home show, and what people post to them."""
