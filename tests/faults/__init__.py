"""What happens when something breaks under load: nothing that was acknowledged is lost, and it mends by itself."""
