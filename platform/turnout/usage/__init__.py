"""What callers used and what it cost."""
