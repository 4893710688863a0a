"""The proposal's own programs, as they stand there: they name no note, so nothing is adapted."""

ADVANCED_SEARCH = r"""
// Advanced search with multiple criteria
async function advancedSearch(criteria) {
  const results = [];
  const allNotes = await notes.list({ limit: 1000 });

  for (const noteInfo of allNotes) {
    const note = await notes.get(noteInfo.id);
    if (!note) continue;

    let matches = true;

    // Check content criteria
    if (criteria.contentContains) {
      matches = matches && note.content.includes(criteria.contentContains);
    }

    // Check metadata criteria
    if (criteria.metadata) {
      for (const [key, value] of Object.entries(criteria.metadata)) {
        matches = matches && note.metadata[key] === value;
      }
    }

    // Check link criteria
    if (criteria.hasLinksTo) {
      const noteLinks = await links.getForNote(note.id);
      const hasLink = noteLinks.outgoing_internal.some((link) =>
        criteria.hasLinksTo.includes(link.target_note_id)
      );
      matches = matches && hasLink;
    }

    if (matches) {
      results.push(note);
    }
  }

  return results;
}
"""

BULK_UPDATE = r"""
// Bulk operations with proper error handling
async function bulkUpdate(identifiers, updateFn) {
  const results = [];

  for (const id of identifiers) {
    try {
      const note = await notes.get(id);
      if (!note) {
        results.push({ id, success: false, error: 'Note not found' });
        continue;
      }

      const updates = await updateFn(note);
      const result = await notes.update({
        identifier: id,
        content: updates.content || note.content,
        contentHash: note.content_hash,
        metadata: { ...note.metadata, ...updates.metadata }
      });

      results.push({ id, success: true, result });
    } catch (error) {
      results.push({ id, success: false, error: error.message });
    }
  }

  return results;
}
"""

REORGANIZE_HIERARCHY = r"""
// Complex hierarchy management
async function reorganizeHierarchy(parentId, childrenConfig) {
  const results = [];

  // First, get current children
  const currentChildren = await hierarchy.getChildren(parentId);

  // Remove existing children not in new config
  const newChildIds = childrenConfig.map((c) => c.id);
  for (const child of currentChildren) {
    if (!newChildIds.includes(child.child_id)) {
      await hierarchy.removeSubnote({
        parent_id: parentId,
        child_id: child.child_id
      });
      results.push({ operation: 'removed', childId: child.child_id });
    }
  }

  // Add new children and set positions
  for (const config of childrenConfig) {
    await hierarchy.addSubnote({
      parent_id: parentId,
      child_id: config.id,
      position: config.position
    });
    results.push({ operation: 'added', childId: config.id, position: config.position });
  }

  // Reorder all children
  await hierarchy.reorder({
    parent_id: parentId,
    child_ids: newChildIds
  });

  return results;
}
"""

ANALYZE_NETWORK = r"""
// Link analysis with relationship mapping
async function analyzeNoteNetwork() {
  const networkData = {
    nodes: [],
    edges: [],
    clusters: {},
    centralNodes: []
  };

  const allNotes = await notes.list({ limit: 1000 });

  // Build node data with relationship metrics
  for (const noteInfo of allNotes) {
    const note = await notes.get(noteInfo.id);
    if (!note) continue;

    const noteLinks = await links.getForNote(note.id);
    const relatedNotes = await relationships.getRelated({
      note_id: note.id,
      max_results: 10
    });
    const clusterCoeff = await relationships.getClusteringCoefficient(note.id);

    networkData.nodes.push({
      id: note.id,
      title: note.title,
      type: note.type,
      outgoingLinks: noteLinks.outgoing_internal.length,
      incomingLinks: noteLinks.incoming.length,
      externalLinks: noteLinks.outgoing_external.length,
      relatedCount: relatedNotes.length,
      clusteringCoefficient: clusterCoeff,
      centrality: noteLinks.incoming.length + noteLinks.outgoing_internal.length
    });

    // Add edges
    for (const link of noteLinks.outgoing_internal) {
      networkData.edges.push({
        source: note.id,
        target: link.target_note_id,
        type: 'content_link',
        text: link.link_text
      });
    }
  }

  // Identify central nodes (high connectivity)
  networkData.centralNodes = networkData.nodes
    .filter((node) => node.centrality > 5)
    .sort((a, b) => b.centrality - a.centrality)
    .slice(0, 10);

  // Group nodes by type for cluster analysis
  for (const node of networkData.nodes) {
    if (!networkData.clusters[node.type]) {
      networkData.clusters[node.type] = [];
    }
    networkData.clusters[node.type].push(node);
  }

  return networkData;
}
"""

SIMPLE_CREATION = r"""
// Create new note with proper structure
const result = await notes.create({
  type: 'meeting',
  title: 'Weekly Standup',
  content: `# Weekly Standup - ${utils.formatDate(new Date())}

## Agenda
- Sprint progress
- Blockers
- Next steps`,
  metadata: {
    attendees: ['Alice', 'Bob', 'Charlie'],
    date: new Date().toISOString()
  }
});

return { success: true, noteInfo: result };
"""

SEARCH_AND_ANALYSIS = r"""
// Multi-step analysis using list and get operations
const recentMeetings = [];
const cutoffDate = new Date(Date.now() - 30 * 24 * 60 * 60 * 1000);

// Get all meeting notes
const meetingNotes = await notes.list({ typeName: 'meeting', limit: 100 });

// Filter recent meetings and get full content
for (const noteInfo of meetingNotes) {
  if (new Date(noteInfo.created) > cutoffDate) {
    const fullNote = await notes.get(noteInfo.id);
    if (fullNote) {
      recentMeetings.push(fullNote);
    }
  }
}

// Analyze attendee patterns
const attendeeStats = {};
for (const meeting of recentMeetings) {
  const attendees = meeting.metadata?.attendees || [];
  attendees.forEach((attendee) => {
    attendeeStats[attendee] = (attendeeStats[attendee] || 0) + 1;
  });
}

// Calculate meeting network metrics
const meetingNetwork = {
  totalMeetings: recentMeetings.length,
  topAttendees: Object.entries(attendeeStats)
    .sort(([, a], [, b]) => b - a)
    .slice(0, 5)
    .map(([name, count]) => ({ name, meetings: count })),
  averageAttendeesPerMeeting:
    recentMeetings.reduce((sum, m) => sum + (m.metadata?.attendees?.length || 0), 0) /
    recentMeetings.length,
  mostConnectedMeetings: []
};

// Find meetings with most cross-references
for (const meeting of recentMeetings) {
  const meetingLinks = await links.getForNote(meeting.id);
  const relatedNotes = await relationships.getRelated({
    note_id: meeting.id,
    max_results: 5
  });

  meetingNetwork.mostConnectedMeetings.push({
    id: meeting.id,
    title: meeting.title,
    linkCount: meetingLinks.outgoing_internal.length + meetingLinks.incoming.length,
    relatedCount: relatedNotes.length
  });
}

meetingNetwork.mostConnectedMeetings = meetingNetwork.mostConnectedMeetings
  .sort((a, b) => b.linkCount - a.linkCount)
  .slice(0, 5);

return meetingNetwork;
"""

BATCH_OPERATIONS = r"""
// Batch update using proper update operations
const results = [];
const projectNotes = await notes.list({ typeName: 'project', limit: 100 });

for (const noteInfo of projectNotes) {
  try {
    const fullNote = await notes.get(noteInfo.id);
    if (fullNote && fullNote.content.includes('TODO:')) {
      const updatedContent = fullNote.content.replace(
        /TODO:/g,
        `UPDATED ${utils.formatDate(new Date())}:`
      );

      // Update using proper update method
      const updateResult = await notes.update({
        identifier: fullNote.id,
        content: updatedContent,
        contentHash: fullNote.content_hash,
        metadata: {
          ...fullNote.metadata,
          last_todo_update: new Date().toISOString()
        }
      });

      results.push({ id: noteInfo.id, success: true, result: updateResult });
    } else {
      results.push({ id: noteInfo.id, success: false, reason: 'No TODOs found' });
    }
  } catch (error) {
    results.push({ id: noteInfo.id, success: false, error: error.message });
  }
}

// Also update any hierarchical relationships if needed
const updatedNotes = results.filter((r) => r.success && r.result);
for (const result of updatedNotes) {
  const children = await hierarchy.getChildren(result.id);
  if (children.length > 0) {
    // Sync hierarchy changes to frontmatter if this note has subnotes
    try {
      const note = await notes.get(result.id);
      if (note) {
        const subnoteIds = children.map((child) => child.child_id);
        await notes.update({
          identifier: result.id,
          content: note.content,
          contentHash: note.content_hash,
          metadata: {
            ...note.metadata,
            subnotes_count: subnoteIds.length,
            hierarchy_updated: new Date().toISOString()
          }
        });
      }
    } catch (hierarchyError) {
      console.warn(
        `Failed to update hierarchy metadata for ${result.id}:`,
        hierarchyError
      );
    }
  }
}

return {
  processed: results.length,
  successful: results.filter((r) => r.success).length,
  failed: results.filter((r) => !r.success).length,
  hierarchyUpdates: updatedNotes.filter((r) => r.result).length,
  details: results
};
"""

# Of the second proposal: the function that an agent registers.
DAILY_NOTE = r"""
async function createOrUpdateDailyNote(date?: string, content?: string): Promise<Note> {
  const targetDate = date ? new Date(date) : new Date();
  const title = utils.formatDate(targetDate, 'YYYY-MM-DD');

  // Check if daily note exists
  const existing = await notes.search({ query: title, exact: true });

  if (existing.length > 0) {
    const note = await notes.get(existing[0].id);
    if (note && content) {
      await notes.update(note.id, {
        content: note.content + '\n\n' + content
      });
    }
    return note!;
  } else {
    return await notes.create({
      title,
      content: content || '# Daily Note\n\n',
      type_id: 'daily-note'
    });
  }
}
"""
