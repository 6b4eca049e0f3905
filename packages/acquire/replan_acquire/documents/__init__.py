"""Documents: the files of a folder and the results of a search service, divided into passages with their places."""
