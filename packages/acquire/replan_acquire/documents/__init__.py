"""Documents: the files of a folder and the results of a search service, cut into passages that know their places."""
