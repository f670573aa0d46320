"""What happens to requests when there are more than replicas can run: who waits, who is refused.

`Room` decides for one model, purely; `Admission` acts on it in front of the relay.
"""
