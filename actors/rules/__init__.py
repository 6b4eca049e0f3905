"""The built-in author: it reads a problem's text with rules, and writes from templates. It uses no language model."""
