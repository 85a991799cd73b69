-- The access tokens of a tenant, or of all (null), the oldest first.
select id, tenant, name, scopes, created_at, expires_at from token
 where ?1 is null or tenant = ?1 order by created_at, id
