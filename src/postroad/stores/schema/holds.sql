-- What holds messages back although they are due: `because` says why, `ends` until when. `ends` is
-- "never" while nobody can know: until somebody acts, or until a probe closes a circuit.
-- Nothing holds them when `ends` is in the past.

-- For each queue that is paused: by hand, or because of its endpoint's state.
create view pause as
select q.id as queue_id,
       coalesce((select case e.state when 'disabled' then 'endpoint disabled by ' || e.disabled_by
                                          || case when e.reason = '' then '' else ': ' || e.reason end
                                     when 'deleting' then 'endpoint is being deleted' end
                   from endpoint e where e.queue_id = q.id), 'paused') as because
  from queue q where q.paused_at > 0;

-- For each queue and lane: a hold of the whole road, a pause, an open circuit (without strikes an answer rule has opened it), or the
-- queue's block. Ask for one pair.
create view queue_hold as
select q.id as queue_id, l.id as lane_id, l.tenant, l.transport,
       case when q.paused_at > 0 or l.paused_at > 0 or l.circuit_opened > 0
                 or exists (select 1 from restoration where id = 1 and held_at > 0) then 4611686018427387904
            else q.block_until end as ends,
       case when exists (select 1 from restoration where id = 1 and held_at > 0)
            then 'road held: ' || (select reason from restoration where id = 1)
            when q.paused_at > 0 then (select p.because from pause p where p.queue_id = q.id)
            when q.block_kind = 'disabled' then 'disabled: ' || q.block_reason
            when l.paused_at > 0 then 'lane paused'
            when l.circuit_opened > 0 and l.circuit_strikes = 0 then 'lane held: ' || l.circuit_reason
            when l.circuit_opened > 0 then 'circuit open: ' || l.circuit_reason
            when q.block_kind <> '' then q.block_kind || ': ' || q.block_reason
            else '' end as because
  from queue q, lane l;

-- For each rung: the same, or the exhausted head of its order group.
create view hold as
select r.id as rung_id, r.queue_id, r.lane_id, r.level, h.tenant, h.transport,
       case when r.held <> '' then 4611686018427387904 else h.ends end as ends,
       case when r.held <> '' then 'head ' || r.held else h.because end as because
  from rung r join queue_hold h on h.queue_id = r.queue_id and h.lane_id = r.lane_id;
