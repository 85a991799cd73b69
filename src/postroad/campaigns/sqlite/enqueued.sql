-- Up to where a campaign is enqueued.
update campaign set place = ?2 where id = ?1
