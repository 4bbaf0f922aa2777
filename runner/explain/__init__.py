"""Why a row takes as long as it does: its attribution, stored or measured now, and what a change would bring."""
