-- The hub's mailboxes and the messages in them.

-- Its messages are those from `first` up to, not including, `next`; positions are never used again.
create table mailbox (
  number     integer primary key,
  name       text not null unique,
  tenant     text not null,
  sender     blob not null check (length(sender) = 32),
  recipient  blob not null check (length(recipient) = 32),
  quota      integer not null check (quota > 0),
  ttl_ms     integer not null check (ttl_ms > 0),
  first      integer not null check (first > 0),
  next       integer not null check (next >= first),
  over       integer not null check (over in (0, 1))
) strict;
create index mailbox_tenant on mailbox (tenant, name);

create table letter (
  mailbox    integer not null,
  position   integer not null,
  at         integer not null,
  expires_at integer not null,
  text       integer not null check (text in (0, 1)),
  body       blob not null,
  primary key (mailbox, position)
) strict, without rowid;
create index letter_expiry on letter (expires_at);
