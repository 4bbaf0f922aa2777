"""Flash, deploy and run again and again while things go wrong, and see that nothing is lost."""
