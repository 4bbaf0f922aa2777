"""Rules by subject. `@rule` states the threshold; the function returns its sentence, or None."""
