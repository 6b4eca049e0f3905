"""What happens to runs: preparing, driving, following and answering them."""
