-- Suppression lists: who is not sent to, and why.

-- tenant: '*' is the list that holds for all. address: what lists are searched by, the recipient in lower case, or,
-- of one that was erased, 'sha256:' and a digest. A recipient has a row for each reason, so that taking away one of
-- them leaves the others.
create table suppression (
  id        integer primary key,
  tenant    text not null,
  address   text not null,
  recipient text not null,
  reason    text not null check (reason in ('by_hand', 'complaint', 'hard_bounce', 'soft_bounce', 'unsubscribed')),
  at        integer not null,
  campaign  text not null,
  message   text not null,
  note      text not null
) strict;
create unique index suppression_address on suppression (address, tenant, reason);
create index suppression_list on suppression (tenant, id);
create index suppression_erased on suppression (tenant) where address >= 'sha256:' and address < 'sha256;';

-- What was reported about messages: bounces and complaints. message: below zero, a campaign's recipient. address: the
-- recipient in lower case. mark: what names the report, so that the same one again is not stored.
create table mail_report (
  id      integer primary key,
  tenant  text not null,
  message integer not null,
  address text not null,
  kind    text not null check (kind in ('complaint', 'delivered', 'hard_bounce', 'policy', 'soft_bounce')),
  mark    text not null,
  code    text not null,
  note    text not null,
  at      integer not null
) strict;
create unique index mail_report_message on mail_report (message, kind, mark);
create index mail_report_address on mail_report (address, tenant, kind, id);
create index mail_report_tenant on mail_report (tenant, id);

-- Tokens of callbacks that were taken, each with the digest of its body: signatures of some providers are not over it.
create table callback_token (
  token  text primary key,
  digest text not null,
  at     integer not null
) strict, without rowid;
create index callback_token_at on callback_token (at);
