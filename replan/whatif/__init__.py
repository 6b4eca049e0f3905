"""What if: recorded runs are folded again under other rules, and each decision is compared with the recorded one."""
