"""The command line: `turnout-load run | replay | sweep | compare | soak | mock | schema`."""
