-- A lane is given back in good order: owned by nobody, and no longer suspect.
update lane set owner = null, crashes = 0 where id = ?1
