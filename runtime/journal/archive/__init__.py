"""Archives: finished runs in compressed files of their own, with their hash chains, out of the journal."""
