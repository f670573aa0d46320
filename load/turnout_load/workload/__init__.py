"""What is sent, and when: arrivals, lengths, datasets and traces. Pure, and seeded."""
