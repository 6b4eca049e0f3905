"""Search strategies over several branches: which branch to open or prune, and which one may make the next attempt."""
