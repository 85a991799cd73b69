-- Contents that messages refer to: attachments of mails. Each is stored once.

-- blob: the name, a digest of the content. used_at: when it was put or referred to last.
create table blob (
  id      integer primary key,
  tenant  text not null,
  blob    text not null,
  size    integer not null,
  used_at integer not null,
  content blob not null
) strict;
create unique index blob_name on blob (tenant, blob, size);
create index blob_used on blob (used_at);

-- Who uses a content: a message by its id, or a campaign by its number below zero.
create table blob_use (
  id      integer primary key,
  tenant  text not null,
  blob    text not null,
  holder  integer not null,
  made_at integer not null
) strict;
create unique index blob_use_name on blob_use (tenant, blob, holder);
create index blob_use_holder on blob_use (holder);
