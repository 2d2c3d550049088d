"""An app with jobs that note what they did, for tests with real worker processes."""
