-- An access token by its id, with its hash.
select id, tenant, name, scopes, created_at, expires_at, digest from token where id = ?1
