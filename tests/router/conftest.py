from hypothesis import settings

# a busy machine is no failure
settings.register_profile("router", deadline=None, max_examples=50)
settings.load_profile("router")
