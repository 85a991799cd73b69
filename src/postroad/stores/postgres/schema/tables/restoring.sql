-- Whether this road was restored from a backup.

-- At most one row; a run that is not held deletes it. backup_at: 0 if nobody knows. held_at: since when nothing of this
-- road may run; 0 is not at all.
create table restoration (
  id        int primary key check (id = 1),
  backup_at bigint not null,
  held_at   bigint not null,
  reason    text not null
);
