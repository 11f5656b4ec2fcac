"""What each command does, as a library call that returns a plain value. `fsrs_opt.cli` parses and prints."""
