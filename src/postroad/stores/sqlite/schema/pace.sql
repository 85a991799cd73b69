-- Rate limits as ledgers of slots.

-- A limit of a queue, or (queue_id 0) of a credential, which all its lanes share, or, with a name, of all
-- lanes that a pattern means, of one tenant or ('*') of all. next_us: up to when its slots are taken. An
-- empty spec means no rate: the row stays, so that a limit that is set again goes on where it was.
create table pace (
  id         integer primary key,
  queue_id   integer not null default 0,
  tenant     text not null default '',
  transport  text not null default '',
  server     text not null default '',
  credential text not null default '',
  name       text not null default '',
  lanes      text not null default '',     -- a pattern of transport:server, with * and ?
  spec       text not null,
  cost       integer not null check (cost > 0),
  spacing_us integer not null check (spacing_us >= 0),
  counted    text not null default '[]',   -- [[most, length_us], …]
  hours      text not null default '',     -- 09:00-20:00: when tries may start
  zone       text not null default '',
  until      integer not null default 0,   -- it ends by itself then; 0: never
  next_us    integer not null default 0,
  unique (queue_id, tenant, transport, server, credential, name),
  check ((name = '') = (lanes = ''))
) strict;

-- How much of a ledger's hour or day was used in one bucket of it.
create table pace_count (
  ledger    integer not null,
  length_us integer not null,
  bucket    integer not null,
  used      integer not null check (used >= 0),
  primary key (ledger, length_us, bucket)
) strict, without rowid;

-- Who reserves on a ledger: what it has taken, when it last asked, when it was told to ask again.
create table pace_share (
  ledger   integer not null,
  name     text not null,
  taken    integer not null,
  seen_us  integer not null,
  again_us integer not null default 0,
  primary key (ledger, name)
) strict, without rowid;
