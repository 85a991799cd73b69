-- Access tokens.

-- name: token_insert
-- Insert an access token.
insert into token (id, tenant, name, scopes, digest, created_at, expires_at, role, kind, makes_until, portal)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)

-- name: token_find
-- Find an access token by its id, with its hash.
select id, tenant, name, scopes, created_at, expires_at, role, kind, makes_until, portal, digest from token where id = ?1

-- name: token_page
-- List the access tokens of a tenant, or of all (null), the oldest first.
select id, tenant, name, scopes, created_at, expires_at, role, kind, makes_until, portal from token
 where (?1 is null or tenant = ?1) and kind = ?2 order by created_at, id

-- name: token_delete
-- Delete an access token of a kind.
delete from token where id = ?2 and kind = ?3 and (?1 is null or tenant = ?1)

-- name: token_exchange
-- Give a token another secret and kind, if it still has the one it is exchanged for.
update token set digest = ?3, kind = ?4 where id = ?1 and digest = ?2

-- name: token_sweep
-- Delete logins, sessions and links to the portal whose time is over.
delete from token where kind <> 'program' and expires_at <= ?1
