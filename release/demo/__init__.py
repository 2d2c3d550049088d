"""The story of the storage demo/showcase: what its people have done in the weeks before the setup (D430)."""
