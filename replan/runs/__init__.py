"""The life of runs: prepares, drives, follows and answers them."""
