-- Whether a campaign's recipients tell a repetition by its id.
select c.kind = 'webhook' from campaign x join credential c on c.id = x.credential where x.id = ?1
