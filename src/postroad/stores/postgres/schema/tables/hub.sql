-- The hub: its mailboxes and the messages in them.

-- The process that serves the mailboxes: at most one. It renews its lease with every commit and every ten
-- seconds.
create table hub (
  single  boolean primary key check (single),
  holder  text not null,
  name    text not null,
  beat_at bigint not null
) with (fillfactor = 10);

-- A mailbox holds the messages from `first` up to but not including `next`; positions are never reused.
create table mailbox (
  number    bigint generated always as identity primary key,
  name      text not null unique,
  tenant    text not null,
  sender    bytea not null check (length(sender) = 32),
  recipient bytea not null check (length(recipient) = 32),
  quota     int not null check (quota > 0),
  ttl_ms    bigint not null check (ttl_ms > 0),
  first     bigint not null default 1 check (first > 0),
  next      bigint not null default 1 check (next >= first),
  over      boolean not null default false
) with (fillfactor = 70);
create index mailbox_tenant on mailbox (tenant, name);

create table letter (
  mailbox    bigint not null,
  position   bigint not null,
  at         bigint not null,
  expires_at bigint not null,
  text       boolean not null,
  body       bytea not null,
  primary key (mailbox, position)
);
create index letter_expiry on letter (expires_at);
