"""Documents: a folder of files and a search service, as passages with the place where each stands."""
