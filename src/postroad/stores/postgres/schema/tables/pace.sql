-- The slot ledger: what each limit allows, up to when its slots are taken, what its long windows have used.

-- The limit of a queue, or (queue_id 0) of a credential, which all its lanes share, or, with a name, of all lanes
-- that a pattern means, of one tenant or ('*') of all. A lifted limit keeps its row with an empty spec, so that a
-- limit that is set again goes on where it was.
create table pace (
  id         bigint generated always as identity primary key,
  queue_id   bigint not null default 0,
  tenant     text not null default '',
  transport  text not null default '',
  server     text not null default '',
  credential text not null default '',
  name       text not null default '',
  lanes      text not null default '',      -- a pattern of transport:server, with * and ?
  spec       text not null,
  cost       bigint not null check (cost > 0),
  spacing_us bigint not null check (spacing_us >= 0),
  counted    jsonb not null default '[]',   -- [[most, length_us], …]
  hours      text not null default '',      -- 09:00-20:00: when tries may start
  zone       text not null default '',
  until      bigint not null default 0,     -- it ends by itself then; 0: never
  next_us    bigint not null default 0,
  unique (queue_id, tenant, transport, server, credential, name),
  check ((name = '') = (lanes = ''))
) with (fillfactor = 50);

-- What each bucket of a window of an hour or a day has used.
create table pace_count (
  ledger    bigint not null,
  length_us bigint not null,
  bucket    bigint not null,
  used      bigint not null check (used >= 0),
  primary key (ledger, length_us, bucket)
) with (fillfactor = 50);

-- Who reserves on a ledger: what it has taken, when it last asked, when it was told to ask again.
create table pace_share (
  ledger   bigint not null,
  name     text not null,
  taken    bigint not null,
  seen_us  bigint not null,
  again_us bigint not null default 0,
  primary key (ledger, name)
) with (fillfactor = 50);
