-- Whether this road was restored from a backup.

-- At most one row. `store backup` puts it into the copy; a run that is not held deletes it. backup_at: 0 if nobody knows.
-- held_at: since when nothing of this road may run; 0 is not at all.
create table restoration (
  id        integer primary key check (id = 1),
  backup_at integer not null,
  held_at   integer not null,
  reason    text not null
) strict;
