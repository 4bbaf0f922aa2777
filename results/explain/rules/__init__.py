"""A rule a file: `FIRES` states its threshold, `say` or `say_beside` makes its sentence or says nothing."""
