"""Rules by subject. `@rule` and `@rule_of_share` state the threshold; the function returns its sentence, or None."""
