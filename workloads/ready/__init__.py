"""Ready: how long a board takes from its start to a connection, stage by stage."""
