"""Parts of compare_peers.py."""
