"""The strategies that search in several branches: which branch to open, to prune, and which may ask next. Pure."""
