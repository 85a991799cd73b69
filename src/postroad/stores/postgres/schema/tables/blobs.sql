-- Contents that messages refer to: attachments of mails. Each is stored once.

-- blob: the digest of the content. used_at: when it was put or referred to last.
create table blob (
  id      bigint generated always as identity primary key,
  tenant  text not null,
  blob    text not null,
  size    bigint not null,
  used_at bigint not null,
  content bytea not null,
  unique (tenant, blob)
);
alter table blob alter column content set storage external;
create index blob_tenant_size on blob (tenant, size);
create index blob_used on blob (used_at);

-- Who uses a content: a message by its id, or a campaign by its number below zero.
create table blob_use (
  id      bigint generated always as identity primary key,
  tenant  text not null,
  blob    text not null,
  holder  bigint not null,
  made_at bigint not null,
  unique (tenant, blob, holder)
);
