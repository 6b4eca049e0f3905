"""The kind `acquisition`: a graph of gates that fills a typed schema by searching, asking and calculating."""
