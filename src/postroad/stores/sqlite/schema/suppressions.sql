-- Suppression lists: who is not sent to, and why.

-- tenant: '*' is the list that holds for all. address: what lists are searched by, the recipient in lower case, or,
-- of one that was erased, 'sha256:' and a digest. A recipient has a row for each reason, so that taking away one of
-- them leaves the others.
create table suppression (
  id        integer primary key,
  tenant    text not null,
  address   text not null,
  recipient text not null,
  reason    text not null check (reason in ('by_hand', 'complaint', 'hard_bounce', 'unsubscribed')),
  at        integer not null,
  campaign  text not null,
  message   text not null,
  note      text not null
) strict;
create unique index suppression_address on suppression (address, tenant, reason);
create index suppression_list on suppression (tenant, id);
create index suppression_erased on suppression (tenant) where address >= 'sha256:' and address < 'sha256;';
