-- Keep a new access token.
insert into token (id, tenant, name, scopes, digest, created_at, expires_at)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7)
