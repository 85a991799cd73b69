-- Contents that messages refer to: attachments of mails. Each is stored once.

-- blob: the digest of the content. used_at: when it was put or referred to last.
create table blob (
  id      integer primary key,
  tenant  text not null,
  blob    text not null,
  size    integer not null,
  used_at integer not null,
  content blob not null,
  unique (tenant, blob)
) strict;
create index blob_tenant_size on blob (tenant, size);
create index blob_used on blob (used_at);

-- Who uses a content: a message by its id, or a campaign by its number below zero.
create table blob_use (
  id      integer primary key,
  tenant  text not null,
  blob    text not null,
  holder  integer not null,
  made_at integer not null,
  unique (tenant, blob, holder)
) strict;
