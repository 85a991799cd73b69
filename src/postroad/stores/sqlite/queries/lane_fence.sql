-- Who owns a lane, at which epoch.
select owner, epoch from lane where id = ?1
