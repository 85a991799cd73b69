-- The index that finished messages are listed by. It lags behind, and is built from the first list on: an index on
-- history itself cost a record 0.5 µs with one queue, and 9 µs with a thousand
-- (docs/decisions/075-lists-without-a-plain-index.md).

-- Messages by queue, whatever became of them.
create table listed (
  queue_id integer not null,
  id       integer not null,
  primary key (queue_id, id)
) strict, without rowid;

-- One row from the first list on: every message up to this id is in the index.
create table list_mark (
  one   integer primary key check (one = 1),
  until integer not null
) strict;
