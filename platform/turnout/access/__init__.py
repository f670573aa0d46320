"""Who calls the gateway: keys, teams and what they may do."""
