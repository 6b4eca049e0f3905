"""The life of runs: preparing, driving, following and answering them."""
